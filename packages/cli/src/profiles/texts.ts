import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("cli_profile", {
  notSignedIn: text(() => "You are not signed in. Sign in: moorage login --url https://<the API's address>"),
  unknown: text(({ name }: { name: string }) => `No profile is called ${name}. See: moorage profile list`, {
    name: "work",
  }),
  none: text(() => "There is no profile. Sign in: moorage login --url https://<the API's address>"),
  selected: text(({ name }: { name: string }) => `Commands now use the profile ${name}.`, { name: "work" }),
  fieldsIgnored: text(
    ({ fields }: { fields: string }) => `Warning: the API does not know these fields and ignores them: ${fields}`,
    { fields: "colour" },
  ),
  authorityUnknown: text(
    ({ server, reason }: { server: string; reason: string }) =>
      `No authority that this computer trusts signed the certificate of ${server} (${reason}). If your operator has a private authority, pass its certificate: moorage login --ca FILE, or MOORAGE_CA.`,
    { server: "https://api.example.com", reason: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" },
  ),
  authorityUnreadable: text(
    ({ file, reason }: { file: string; reason: string }) =>
      `The file ${file} contains no certificate authority that can be read (${reason}).`,
    { file: "/home/nia/authority.pem", reason: "ENOENT: no such file or directory" },
  ),
  fileInvalid: text(
    ({ file }: { file: string }) =>
      `The file ${file} does not have the format that moorage writes. Repair or remove it, then sign in: moorage login`,
    { file: "/home/nia/.config/moorage/profiles.json" },
  ),
});
