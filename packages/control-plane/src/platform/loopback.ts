/** Whether the hostname of a URL is an address of this machine. */
export const isLoopback = (hostname: string): boolean => /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
