import type { EventEntity } from "@moorage/contract";

/** The user in events and in the audit log. */
export const entityOf = (user: { id: number; username: string }) =>
  ({
    id: user.id,
    label: user.username,
    type: "user",
    url: `/v4/account/users/${user.username}`,
  }) satisfies EventEntity;

export const targetOf = (userId: number): string => `user/${userId}`;
