import { NOT_FOUND } from "#platform/errors.ts";
import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("host", {
  unknownName: text(
    ({ name }: { name: string }) =>
      `${NOT_FOUND}: no host is called ${name}. List the hosts with: moorage admin host list`,
    { name: "host-2" },
  ),
  stillPolls: text(
    ({ name, seconds }: { name: string; seconds: number }) =>
      `Host ${name} last polled ${seconds} seconds ago. Power it off before marking it dead.`,
    { name: "host-2", seconds: 4 },
  ),
  enrolTokenInvalid: text(
    () =>
      "The enrolment token is unknown, used or expired. To get a new one: moorage admin host add, or moorage admin host enrol-again if the host was enrolled before.",
  ),
  certificateRequired: text(
    () =>
      "This request requires the valid certificate of an enrolled host. If the host was enrolled, its certificate was revoked or replaced. To enrol it again: moorage admin host enrol-again",
  ),
  certificateTooOld: text(
    ({ name, days }: { name: string; days: number }) =>
      `The certificate of host ${name} is older than ${days} days, and was not renewed in time. Enrol the host again: moorage admin host enrol-again ${name}`,
    { name: "host-2", days: 7 },
  ),
  quarantined: text(
    () =>
      "This host claimed a state that the control plane has not sent to it. It gets no secrets until the operator runs moorage admin recover, or enrols the host again: moorage admin host enrol-again.",
  ),
  csrInvalid: text(() => "a signed PKCS #10 request in PEM"),
  csrKeyInvalid: text(
    () =>
      "a request of a key of one of these kinds: ECDSA P-256 or P-384, Ed25519, RSA of 2048 to 4096 bits with the exponent 65537",
  ),
  tooManyLong: text(
    ({ ofHost, ofAll }: { ofHost: number; ofAll: number }) =>
      `The gateway reads at most ${ofHost} long messages of one host at the same time, and ${ofAll} of all hosts. Send the message again later.`,
    { ofHost: 2, ofAll: 8 },
  ),
  tooManyOfHost: text(
    ({ most }: { most: number }) =>
      `The gateway handles at most ${most} requests of one host at the same time. Send the request again later.`,
    { most: 128 },
  ),
  csrOfOtherKey: text(
    () =>
      "a request of the key with which the host was enrolled. A new key needs a new enrolment token: moorage admin host enrol-again",
  ),
  csrOfRevokedKey: text(
    () =>
      "a request for a new key: this one was revoked. Remove host.key and host.pem from the folder of the agent (MOORAGE_AGENT_DIR), and restart the agent",
  ),
  deadNotEnrolled: text(
    ({ name }: { name: string }) =>
      `Host ${name} is dead, and its nodes are replaced. To use the machine again, empty the agent's folder and register the machine under another name: moorage admin host add --help`,
    { name: "host-2" },
  ),
  protocolUnsupported: text(
    ({ version }: { version: number }) => `${version}, the version that this gateway supports`,
    { version: 1 },
  ),
  /** In place of a message that is not for tenants. */
  errorHidden: text(() => "The host reported an error. Ask the operator, who can see the details."),
});
