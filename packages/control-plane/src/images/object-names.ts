/** Where the data of an upload are put. One image, one address. */
export const uploadKey = (imageId: number): string => `uploads/${imageId}`;
/** Everything of an image but its upload. */
export const imageFolder = (imageId: number): string => `images/${imageId}/`;
/** The chunks and the manifest of one try to make it. */
export const contentKey = (imageId: number, content: string, name: string): string =>
  `${imageFolder(imageId)}${content}/${name}`;
export const contentFolder = (imageId: number, content: string): string => `${imageFolder(imageId)}${content}/`;

/** Which image, and which try to make it, an object belongs to. Undefined: none of ours. */
export function ownerOfKey(key: string): { imageId: number; content: string | undefined } | undefined {
  const [, kind, id, content] = /^(uploads|images)\/(\d{1,16})(?:\/([^/]+)\/.+)?$/.exec(key) ?? [];
  if (id === undefined || (kind === "images") === (content === undefined)) return undefined;
  return { imageId: Number(id), content };
}
