/** Each of these precedes the act itself: a host that dies in between has used the id without the act. */
export const recordSteps = {
  bootstrap: "agent.group.record-bootstrap",
  reclone: "agent.group.record-reclone",
  makePrimary: "agent.group.record-make-primary",
  open: "agent.group.record-open",
  /** The act that follows is the report. */
  fence: "agent.group.record-fence",
};
