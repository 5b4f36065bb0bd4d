/** A name that no earlier run used. */
export const unique = (name: string): string => `${name}-${Date.now().toString(36)}`;
