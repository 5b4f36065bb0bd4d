import { z } from "zod";

/**
 * The messages between `cards` and the card admission of `api`: everything about a card except its number and code.
 * `cards` passes on the caller's headers, so that the caller is authorized as in every other operation.
 */
export const ADMISSION_KEY_HEADER = "x-moorage-card-admission-key";

/** The body of the two operations that add a card, as `cards` sends it. Without a card: the body was not valid. */
export const AddCardRequest = z.object({
  is_default: z.boolean(),
  card: z
    .object({
      card_type: z.string(),
      last_four: z.string().regex(/^\d{4}$/),
      expiry_month: z.int(),
      expiry_year: z.int(),
    })
    .nullable(),
});
export type AddCardRequest = z.output<typeof AddCardRequest>;

/** Without an attempt: a request with this Idempotency-Key was done before, or its body is not valid. */
export const Admission = z.object({
  attempt: z
    .object({
      /** Also part of the key at the provider. */
      id: z.int(),
      holder: z.object({
        accountUuid: z.string(),
        customer: z.string().nullable(),
        zip: z.string(),
        country: z.string(),
      }),
    })
    .optional(),
});
export type Admission = z.output<typeof Admission>;

export const SETTLE_PATH = "/cards/settle";

/** The provider's outcome of an attempt. */
export const Settlement = z.object({
  operation: z.enum(["addPaymentMethod", "updateCreditCard"]),
  attempt: z.int(),
  request: AddCardRequest,
  outcome: z.discriminatedUnion("is", [
    z.object({
      is: z.literal("kept"),
      card: z.object({
        customer: z.string(),
        token: z.string(),
        cardType: z.string(),
        lastFour: z.string().regex(/^\d{4}$/),
        expiryMonth: z.int(),
        expiryYear: z.int(),
      }),
    }),
    z.object({ is: z.literal("declined") }),
  ]),
});
export type Settlement = z.output<typeof Settlement>;
