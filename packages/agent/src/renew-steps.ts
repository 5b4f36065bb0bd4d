import { makeCertificate, useCertificate } from "./node-certificate.ts";
import type { StepTable } from "./run-steps.ts";

/** For a node that serves: nothing is stopped, and it stays `running` whether this succeeds or not. */
export const renewSteps: StepTable = {
  name: "renew",
  steps: [
    { name: "certificate", percent: 50, run: makeCertificate },
    { name: "tls", percent: 100, run: useCertificate },
  ],
};
