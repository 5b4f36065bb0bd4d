export * from "./card-admission.ts";
export * from "./provider.ts";
export { createStripe } from "./stripe-client.ts";
export { createStripeCharges } from "./stripe-charges.ts";
export { createStripeVault } from "./stripe-vault.ts";
