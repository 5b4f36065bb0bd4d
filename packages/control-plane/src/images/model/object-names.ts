/** The key of an upload. One image, one address. */
export const uploadKey = (imageId: number): string => `uploads/${imageId}`;
/** Everything of an image but its upload. */
export const imageFolder = (imageId: number): string => `images/${imageId}/`;
/** The chunks and the manifest of one attempt to make it. */
export const contentKey = (imageId: number, content: string, name: string): string =>
  `${imageFolder(imageId)}${content}/${name}`;
export const contentFolder = (imageId: number, content: string): string => `${imageFolder(imageId)}${content}/`;

/** The image, and the attempt, that an object belongs to. Undefined: not one of our keys. */
export function ownerOfKey(key: string): { imageId: number; content: string | undefined } | undefined {
  const [, kind, id, content] = /^(uploads|images)\/(\d{1,16})(?:\/([^/]+)\/.+)?$/.exec(key) ?? [];
  if (id === undefined || (kind === "images") === (content === undefined)) return undefined;
  return { imageId: Number(id), content };
}
