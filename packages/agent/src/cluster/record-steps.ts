/** After each of these the deed itself follows: a host that dies in between has used the id, and not done it. */
export const recordSteps = {
  bootstrap: "agent.group.record-bootstrap",
  reclone: "agent.group.record-reclone",
  makePrimary: "agent.group.record-make-primary",
  open: "agent.group.record-open",
  /** What follows is that it is told. */
  fence: "agent.group.record-fence",
};
