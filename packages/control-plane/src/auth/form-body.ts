import busboy from "busboy";
import { DomainError } from "#platform/errors.ts";
import type { Text } from "@moorage/contract/texts";
import { texts } from "./texts.ts";

const limits = { fields: 30, fieldNameSize: 100, fieldSize: 8 * 1024, files: 0, parts: 30 };

const refused = (reason: Text): DomainError => new DomainError("invalid", { reason });

/** Clients of this API family send both content types. A missing body is an empty form. */
export async function readForm(contentType: string | undefined, body: Buffer): Promise<URLSearchParams> {
  const [type = ""] = (contentType ?? "").split(";");
  if (body.length === 0) return new URLSearchParams();
  if (type.trim().toLowerCase() === "application/x-www-form-urlencoded") return new URLSearchParams(body.toString());
  if (type.trim().toLowerCase() === "multipart/form-data") return readMultipart(contentType as string, body);
  throw refused(texts.formExpected());
}

function readMultipart(contentType: string, body: Buffer): Promise<URLSearchParams> {
  const form = new URLSearchParams();
  return new Promise((resolve, reject) => {
    const unreadable = texts.formUnreadable({ fields: limits.fields, bytes: limits.fieldSize });
    const refuse = (): void => reject(refused(unreadable));
    try {
      const parser = busboy({ headers: { "content-type": contentType }, limits });
      parser.on("field", (name, value, { nameTruncated, valueTruncated }) => {
        if (nameTruncated || valueTruncated) refuse();
        form.append(name, value);
      });
      for (const event of ["filesLimit", "fieldsLimit", "partsLimit", "error"] as const) parser.on(event, refuse);
      parser.on("close", () => resolve(form));
      parser.end(body);
    } catch {
      refuse();
    }
  });
}
