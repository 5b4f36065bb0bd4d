import { isOperatorOperation, type OperatorOperation } from "../operation.ts";
import * as accounts from "./accounts.ts";
import * as audit from "./audit.ts";
import * as billing from "./billing.ts";
import * as catalogue from "./catalogue.ts";
import * as computes from "./computes.ts";
import * as databases from "./databases.ts";
import * as hosts from "./hosts.ts";
import * as images from "./images.ts";
import * as invoices from "./invoices.ts";
import * as keys from "./keys.ts";
import * as maintenance from "./maintenance.ts";
import * as oauthClients from "./oauth-clients.ts";
import * as plans from "./plans.ts";
import * as tokens from "./tokens.ts";
import * as users from "./users.ts";

/**
 * Every operation of the operator. Routes, the operator's OpenAPI document, `moorage admin` and the access matrix use
 * it.
 */
export const operatorOperations: readonly OperatorOperation[] = [
  catalogue,
  plans,
  hosts,
  databases,
  computes,
  maintenance,
  images,
  accounts,
  users,
  tokens,
  oauthClients,
  billing,
  invoices,
  audit,
  keys,
]
  .flatMap((family) => Object.values(family) as unknown[])
  .filter(isOperatorOperation);
