import { defineTexts, text } from "@moorage/contract/texts";

type Progress = { action: string; percent: number | null; message: string };

export const texts = defineTexts("cli_tenant", {
  // Next steps.
  nextSignIn: text(() => "Sign in: moorage login --url https://<the API's address>"),
  nextCreate: text(
    () => "You have no database. Without options, this command lists what it requires to create one: moorage db create",
  ),
  nextProvisioning: text(
    ({ label }: { label: string }) => `Database ${label} is being created. See: moorage db show ${label}`,
    { label: "orders" },
  ),
  nextAllowList: text(
    ({ label }: { label: string }) =>
      `No address may connect to ${label}. Add your address: moorage db update ${label} --allow-list <address> --wait`,
    { label: "orders" },
  ),
  nextConnect: text(({ label }: { label: string }) => `Connect to ${label}: moorage db connect ${label}`, {
    label: "orders",
  }),

  // Confirmation.
  lossOfDatabase: text(({ label }: { label: string }) => `The database ${label} and its backups will be deleted.`, {
    label: "orders",
  }),
  lossOfAccount: text(() => "The account will be closed, with everything in it."),
  confirmPrompt: text(
    ({ loss, confirmation }: { loss: string; confirmation: string }) => `${loss} Type ${confirmation} to continue: `,
    { loss: "The database orders and its backups will be deleted.", confirmation: "orders" },
  ),
  confirmationImpossible: text(
    ({ loss }: { loss: string }) =>
      `${loss} This terminal is not interactive. To continue without a confirmation, add --yes.`,
    { loss: "The database orders and its backups will be deleted." },
  ),
  notConfirmed: text(() => "The input differs from the requested word. Nothing was changed."),

  // Arguments and options.
  labelUnknown: text(
    ({ label, listCommand }: { label: string; listCommand: string }) =>
      `Nothing has the label ${label}. See: ${listCommand}`,
    { label: "orders", listCommand: "moorage db list" },
  ),
  labelAmbiguous: text(
    ({ label, ids }: { label: string; ids: readonly number[] }) =>
      `${ids.length} objects have the label ${label}. Use one of their ids: ${ids.join(", ")}.`,
    { label: "orders", ids: [1025, 1026] },
  ),
  columnsUnknown: text(
    ({ columns, known }: { columns: readonly string[]; known: readonly string[] }) =>
      `--columns ${columns.join(",")}: unknown field. Valid fields: ${known.join(", ")}.`,
    { columns: ["colour"], known: ["id", "label"] },
  ),
  filterInvalid: text(
    ({ filter, fields, operators }: { filter: string; fields: readonly string[]; operators: readonly string[] }) =>
      `--filter ${filter}: the form is <field><operator><value>. Fields: ${fields.join(", ")}. Operators: ${operators.join(" ")}`,
    { filter: "colour=red", fields: ["label", "status"], operators: ["=", "!="] },
  ),
  filterNotJson: text(({ filter }: { filter: string }) => `--filter ${filter}: the value is not valid JSON.`, {
    filter: "{label",
  }),
  booleanInvalid: text(() => "The value must be true or false."),
  numberInvalid: text(() => "The value must be a number."),
  jsonInvalid: text(() => "The value must be valid JSON."),
  bodyNotJson: text(() => "The value of --body is not valid JSON."),
  bodyMissing: text(() => "The body is empty. Pass it as JSON: --body <json>, or from a file: --body @<file>"),
  /** `options`: one line for each. */
  optionsMissing: text(
    ({ options }: { options: readonly string[] }) => ["These fields are required:", ...options].join("\n"),
    { options: ["  --region  the id of a region; see: moorage region list"] },
  ),
  changeMissing: text(
    ({ options }: { options: readonly string[] }) => ["Name at least one field to change:", ...options].join("\n"),
    { options: ["  --label  3 to 32 characters"] },
  ),
  fieldWithSource: text(
    ({ flag, valid, command }: { flag: string; valid: string; command: string }) =>
      `  ${flag}  ${valid}; see: ${command}`,
    { flag: "--region", valid: "the id of a region", command: "moorage region list" },
  ),
  secretField: text(
    ({ field, valid }: { field: string; valid: string }) =>
      `  ${field}  ${valid}; only from a file (--body @file) or from standard input (--body -)`,
    { field: "data.cvv", valid: "3 or 4 digits" },
  ),
  uploadTypeInvalid: text(
    ({ path, types }: { path: string; types: readonly string[] }) =>
      `The type of the file ${path} must be ${types.join(" or ")}. The extension of its name determines the type.`,
    { path: "logo.svg", types: ["image/png", "image/jpeg"] },
  ),
  fileUnwritable: text(
    ({ path, reason }: { path: string; reason: string }) => `The file ${path} cannot be written (${reason}).`,
    { path: "/invoice.pdf", reason: "EACCES" },
  ),

  // Results.
  listEmpty: text(() => "The list is empty."),
  listEmptyCreate: text(
    ({ command }: { command: string }) => `The list is empty. To create the first item: moorage ${command} --help`,
    { command: "db create" },
  ),
  noMatch: text(() => "Nothing matches the filter."),
  noMeasurements: text(() => "There are no measurements in this time range."),
  done: text(() => "Done."),
  downloaded: text(({ bytes, path }: { bytes: number; path: string }) => `${bytes} bytes are saved in ${path}.`, {
    bytes: 4096,
    path: "invoice.pdf",
  }),
  progress: text(
    ({ action, percent, message }: Progress) =>
      [action, percent === null ? "started" : `${percent} %`, message].filter(Boolean).join("  "),
    { action: "database_create", percent: 40, message: "" },
  ),
});
