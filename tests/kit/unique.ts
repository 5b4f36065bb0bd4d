/** A name that no run before had. */
export const unique = (name: string): string => `${name}-${Date.now().toString(36)}`;
