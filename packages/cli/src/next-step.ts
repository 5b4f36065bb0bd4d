import type { AdminClient } from "./admin-client.ts";

/** In the order of setting up an installation: each step needs those before it. */
const steps = [
  { path: "/admin/regions", next: "No region yet. Make one: moorage region create --help" },
  { path: "/admin/plans", next: "No plan yet. Make one: moorage plan create --help" },
  { path: "/admin/engines", next: "No engine version yet. Offer one: moorage engine create --help" },
  { path: "/admin/hosts", next: "No host yet. Register one: moorage host add --help" },
  { path: "/admin/accounts", next: "No account yet. Make one: moorage account create --help" },
];

/** Suggests the operator's next step for this installation. */
export async function nextStep(client: AdminClient): Promise<string> {
  for (const { path, next } of steps) {
    const { data } = await client.get<{ data: unknown[] }>(path);
    if (data.length === 0) return next;
  }
  return "This installation is set up. Look after it: moorage host list, moorage account list";
}
