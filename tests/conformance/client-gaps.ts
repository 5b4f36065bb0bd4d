export const CLIENTS = [
  "linode-cli 5.49.0",
  "linode_api4 5.40.0",
  "linode_api4 5.48.0",
  "@linode/api-v4 0.158.0",
  "linodego 1.60.0",
  "linodego 1.69.1",
] as const;
export type ClientName = (typeof CLIENTS)[number];

type Gap = { why: string; operations: readonly string[] };

/** The API family has no such operations, so none of its clients has a call for them. */
const OURS: Gap = {
  why: "ours alone",
  operations: [
    "listMysqlFailovers",
    "switchMysqlPrimary",
    "promoteMysqlNode",
    "viewMysqlMetric",
    "downloadInvoiceCsv",
    "downloadInvoicePdf",
    "createPaymentMethodLink",
  ],
};
/** Former names of the service transfers; all clients use the newer ones. */
const ENTITY_TRANSFERS = [
  "listEntityTransfers",
  "createEntityTransfer",
  "viewEntityTransfer",
  "cancelEntityTransfer",
  "acceptEntityTransfer",
];
const THUMBNAILS = ["viewOAuthClientThumbnail", "updateOAuthClientThumbnail"];
const BACKUPS = ["createMysqlBackup", "listMysqlBackups", "viewMysqlBackup", "restoreMysqlBackup"];

const noCall = (...operations: string[]): Gap => ({ why: "no call", operations });
const noVerb = (...operations: string[]): Gap => ({ why: "no verb", operations });
const breaks = (how: string, ...operations: string[]): Gap => ({ why: `breaks: ${how}`, operations });

/** The client's path lacks the first slash. */
const LOGINS_OF_API4 = breaks("asks for `/v4profile/logins`", "listLogins", "viewLogin");

/** What a client cannot do for a reason of its own. Everything else works. */
export const gaps: Readonly<Record<ClientName, readonly Gap[]>> = {
  "linode-cli 5.49.0": [
    OURS,
    noVerb("suspendMysqlDatabase", "resumeMysqlDatabase", "viewUserGrants", "updateUserGrants"),
    noVerb("viewPreferences", "updatePreferences", "updateCreditCard", ...THUMBNAILS, ...ENTITY_TRANSFERS),
    breaks("prints nothing of the answer", "viewUser"),
  ],
  "linode_api4 5.40.0": [
    OURS,
    noCall("cancelAccount", "createPayment", "updateCreditCard", ...ENTITY_TRANSFERS),
    LOGINS_OF_API4,
  ],
  "linode_api4 5.48.0": [
    OURS,
    noCall("cancelAccount", "createPayment", "updateCreditCard", ...ENTITY_TRANSFERS, ...BACKUPS, "deleteMysqlBackup"),
    LOGINS_OF_API4,
  ],
  "@linode/api-v4 0.158.0": [
    OURS,
    noCall("createMysqlBackup", "deleteMysqlBackup", "viewPayment", "viewLogin", ...THUMBNAILS, ...ENTITY_TRANSFERS),
  ],
  "linodego 1.60.0": [
    OURS,
    noCall("cancelAccount", "deleteMysqlBackup", "updateCreditCard", ...THUMBNAILS, ...ENTITY_TRANSFERS),
  ],
  "linodego 1.69.1": [
    OURS,
    noCall("cancelAccount", "updateCreditCard", ...THUMBNAILS, ...ENTITY_TRANSFERS, ...BACKUPS, "deleteMysqlBackup"),
    breaks("wants `unit_price` as a string", "listInvoiceItems"),
  ],
};
