import { ErrorReply, InvoiceItem, type OperatorOperation, Promotion } from "@moorage/contract";
import * as contract from "@moorage/contract/operator";
import { errorResponses, pageParameters, parametersOf, replyContentOf, requestBodyOf } from "./operation-parts.ts";
import { createSchemas, type Schemas } from "./schemas.ts";

/** The operator's interface as OpenAPI 3.1, derived only from its operation table. */
export function operatorDocument(version: string): object {
  const schemas = createSchemas({ ...contract, ErrorReply, InvoiceItem, Promotion });
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of contract.operatorOperations) {
    const path = (paths[operation.path.replace(/:(\w+)/g, "{$1}")] ??= {});
    path[operation.method.toLowerCase()] = operationObject(operation, schemas);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Moorage for operators",
      version,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
      description:
        "Served at an address of its own (`MOORAGE_ADMIN_URL`), which the front does not reach. Every request needs the operator's token: `Authorization: Bearer <token>`. Every change can be repeated and is recorded in the audit log. `moorage admin` calls these operations.",
    },
    servers: [{ url: "/" }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "The operator's token." } },
      parameters: pageParameters,
      responses: errorResponses(schemas.ofReply(ErrorReply), [400, 401, 404, 500, 503]),
      headers: { "Retry-After": retryAfter },
      schemas: schemas.components(),
    },
  };
}

const retryAfter = { description: "Whole seconds after which to try again.", schema: { type: "integer" } };

const tags: Record<OperatorOperation["tag"], string> = {
  Accounts: "Accounts, their limits and capabilities.",
  Audit: "The audit and the money records, and whether somebody changed them.",
  Billing: "Credits, taxes, invoices, charges and payments.",
  Catalogue: "What tenants can choose from: regions, plans, engine versions.",
  Compute: "Compute instances that run elsewhere, their disks and their maintenance.",
  Databases: "The databases of all accounts.",
  Hosts: "The machines that run database nodes, and the recovery of the control plane.",
  Images: "Public images, and the images of accounts.",
  Keys: "The key ring: what its keys are needed by, and the rotation to the current one.",
  "OAuth clients": "Applications that accounts registered.",
  "Users and tokens": "The users of accounts, their grants, sign-in and tokens.",
};

function operationObject(operation: OperatorOperation, schemas: Schemas): object {
  const { id, summary, note, tag, params } = operation;
  const statuses = [400, 401, ...(params === undefined && operation.query === undefined ? [] : [404]), 500, 503];
  return {
    operationId: id,
    summary,
    ...(note === undefined ? {} : { description: note }),
    tags: [tag],
    parameters: parametersOf(operation, schemas, []),
    ...requestBodyOf(operation, schemas),
    responses: {
      200: { description: "Done.", content: replyContentOf(operation, schemas) },
      ...Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/${status}` }])),
    },
  };
}
