import { type EventEntity, Id } from "@moorage/contract";

/** How an image is named in events and in the audit: by its bare number, whatever tenants call it. */
export const entityOfImage = (image: { id: number; label: string }) =>
  ({
    id: image.id,
    label: image.label,
    type: "image",
    url: `/v4/images/private/${image.id}`,
  }) satisfies EventEntity;

export const targetOfImage = (id: number): string => `image/${id}`;

/** What an image is called on the wire. A public one has its name from the operator. */
export const wireIdOf = ({ id, name }: { id: number; name: string | null }): string =>
  name === null ? `private/${id}` : `operator/${name}`;

type NamedImage = { kind: "private"; id: number } | { kind: "public"; name: string };

/** Undefined: nothing is called so. */
export function readWireId(text: string): NamedImage | undefined {
  const [prefix, rest = ""] = text.split(/\/(.*)/s);
  if (prefix === "operator" && rest !== "") return { kind: "public", name: rest };
  const id = prefix === "private" ? Id.safeParse(rest).data : undefined;
  return id === undefined ? undefined : { kind: "private", id };
}
