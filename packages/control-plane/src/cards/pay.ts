import { createPayment, NewPayment } from "@moorage/contract";
import { DomainError } from "#platform/errors.ts";
import { judgeUnknownFields } from "#platform/http/unknown-fields.ts";
import { type Caller, Refused } from "./caller.ts";
import { unavailable } from "./add-card.ts";
import { type CardAdmission, AdmissionUnreachable } from "./card-admission.ts";
import { texts } from "./texts.ts";

/** A payment names a stored card. Other fields, such as the card's code, are dropped here. */
export async function pay(cardAdmission: CardAdmission, caller: Caller, body: unknown): Promise<unknown> {
  const { faults, ignored } = judgeUnknownFields(createPayment, body);
  // SDKs send it with every payment.
  caller.reportIgnored(ignored.filter((name) => name !== "cvv"));
  // The card admission checks the caller first, and then refuses a body that is no object.
  const payload = faults.length > 0 ? [] : knownOf(body);
  try {
    const reply = await cardAdmission.post({ path: createPayment.path, headers: caller.headers, body: payload });
    return caller.passOn(reply).body;
  } catch (error) {
    if (faults.length > 0 && error instanceof Refused && error.reply.status === 400)
      throw new DomainError("invalid", ...faults);
    throw error instanceof AdmissionUnreachable ? unavailable(texts.paymentOutcomeUnknown()) : error;
  }
}

/** A body that is no object stays one, so that it is refused for that. */
function knownOf(body: unknown): unknown {
  if (body === undefined) return {};
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  return Object.fromEntries(Object.entries(body).filter(([name]) => Object.hasOwn(NewPayment.shape, name)));
}
