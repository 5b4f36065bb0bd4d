import { defineTexts, text } from "@moorage/contract/texts";

export const texts = defineTexts("transfer", {
  notCancelable: text(
    ({ status }: { status: string }) => `This transfer is ${status}; only a pending transfer can be canceled.`,
    { status: "accepted" },
  ),
  notAcceptable: text(
    ({ status }: { status: string }) => `This transfer is ${status}; only a pending transfer can be accepted.`,
    { status: "stale" },
  ),
  ownTransfer: text(() => "Your account offers this transfer; another account must accept it."),
  accountClosed: text(
    () => "This transfer cannot be accepted: the account that offered it, or your account, is closed.",
  ),
  accountClosedMeanwhile: text(
    ({ party }: { party: "offered" | "accepted" }) =>
      `Nothing was transferred: the account that ${party} the transfer was closed.`,
    { party: "offered" },
  ),
  computesNotOwned: text<[{ ids: readonly number[] }]>(
    ({ ids }) =>
      `Nothing was transferred: compute ${ids.length === 1 ? "instance" : "instances"} ${ids.join(", ")} of this transfer no longer ${ids.length === 1 ? "belongs" : "belong"} to the account that offered it.`,
    { ids: [12, 15] },
  ),
  deadlineExceeded: text(
    () => "Nothing was transferred: the transfer did not complete in time. To try again, create a new transfer.",
  ),
  notAccepted: text(
    ({ hours }: { hours: number }) =>
      `The transfer expired: no account accepted it within ${hours} hours. To offer the same compute instances again, create a new transfer.`,
    { hours: 24 },
  ),
  labelsChanged: text<[{ renamed: readonly { was: string; is: string }[] }]>(
    ({ renamed }) =>
      `Labels that were already in use in your account got a number: ${renamed.map(({ was, is }) => `${was} is now ${is}`).join(", ")}.`,
    { renamed: [{ was: "web", is: "web-2" }] },
  ),
  computeUnknown: text(({ id }: { id: number }) => `the id of a compute instance of this account; ${id} is not one`, {
    id: 12,
  }),
  computeInOtherTransfer: text(
    ({ id, status, since }: { id: number; status: string; since: string }) =>
      `an instance that is in no other transfer; ${id} is in a transfer that has been ${status} since ${since} UTC. A pending transfer can be canceled`,
    { id: 12, status: "pending", since: "2026-01-31T12:00:00" },
  ),
});
