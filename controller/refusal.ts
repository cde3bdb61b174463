/**
 * Why the controller does not work here, as a sentence for an administrator, who can mend it: another one works already, there is no
 * cluster, a file says something else than it should. It is no bug, so a log shows it without a stack.
 */
export class Refusal extends Error {}
