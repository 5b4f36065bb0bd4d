import { NOT_FOUND } from "#platform/errors.ts";
import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("host", {
  unknownName: text(
    ({ name }: { name: string }) => `${NOT_FOUND}: no host is called ${name}. List the hosts with: moorage host list`,
    { name: "host-2" },
  ),
  stillPolls: text(
    ({ name, seconds }: { name: string; seconds: number }) =>
      `Host ${name} last polled ${seconds} seconds ago. Power it off before marking it dead.`,
    { name: "host-2", seconds: 4 },
  ),
  enrolTokenInvalid: text(
    () => "The enrolment token is unknown, used or expired. Register the host again to get a new token.",
  ),
  certificateRequired: text(() => "This request requires the certificate of an enrolled host."),
  csrInvalid: text(() => "a signed PKCS #10 request in PEM"),
  protocolUnsupported: text(
    ({ version }: { version: number }) => `${version}, the version that this gateway supports`,
    { version: 1 },
  ),
  /** In place of a message that is not for tenants. */
  errorHidden: text(() => "The host reported an error. The operator can see the details."),
});
