/** After each of these the deed itself follows: a host that dies in between has used the id, and not done it. */
export const recordSteps = {
  begin: "agent.group.record-begin",
  renew: "agent.group.record-renew",
  lead: "agent.group.record-lead",
  open: "agent.group.record-open",
  /** What follows is that it is told. */
  fence: "agent.group.record-fence",
};
