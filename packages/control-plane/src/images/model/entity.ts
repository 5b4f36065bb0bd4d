import { type EventEntity, Id } from "@moorage/contract";

/** The entity of an image in events and in the audit: its number, whatever its id on the wire. */
export const entityOfImage = (image: { id: number; label: string }) =>
  ({
    id: image.id,
    label: image.label,
    type: "image",
    url: `/v4/images/private/${image.id}`,
  }) satisfies EventEntity;

export const targetOfImage = (id: number): string => `image/${id}`;

/** The id of an image on the wire. The operator names public ones. */
export const wireIdOf = ({ id, name }: { id: number; name: string | null }): string =>
  name === null ? `private/${id}` : `operator/${name}`;

type NamedImage = { kind: "private"; id: number } | { kind: "public"; name: string };

/** Undefined: no image can have this id. */
export function readWireId(text: string): NamedImage | undefined {
  const [prefix, rest = ""] = text.split(/\/(.*)/s);
  if (prefix === "operator" && rest !== "") return { kind: "public", name: rest };
  const id = prefix === "private" ? Id.safeParse(rest).data : undefined;
  return id === undefined ? undefined : { kind: "private", id };
}
