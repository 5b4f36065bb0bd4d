import { resetMysqlCredentials } from "@moorage/contract";
import { defineChange } from "../changes/column-changes.ts";
import { newPassword, passwordPlace } from "../model/entity.ts";
import { texts } from "../model/texts.ts";

/** The new password is shown at once and in force when the hosts have it. */
export const resetCredentials = defineChange({
  kind: "resetCredentials",
  request: {
    operation: resetMysqlCredentials,
    columns: ({ sealer, before: { account_id, id, credentials_version } }) => ({
      admin_password: sealer.seal(passwordPlace(account_id, id), newPassword()),
      credentials_version: credentials_version + 1,
    }),
  },
  action: "reset the credentials of",
  work: "reset",
  audited: "reset_credentials",
  events: ["database_credentials_reset"],
  // The old password may be compromised: it must not come back.
  keeps: [],
  failed: texts.passwordNotSet,
  failedInPart: texts.passwordNotConfirmed,
});
