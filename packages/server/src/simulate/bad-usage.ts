/** What the user can put right: told as one sentence, and the command ends with 2. */
export class BadUsage extends Error {}
