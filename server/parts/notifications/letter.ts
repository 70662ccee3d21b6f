/** A letter, apart from what sends it: that is loaded only where mail is sent. */

export interface Letter {
  /** One address, as `emailAddress` takes it. */
  to: string;
  subject: string;
  text: string;
  /** The same on every try, so that a receiver can tell that it has the letter already. */
  id: string;
}

/** A recipient that the server doesn't take, and won't later. */
export class UnknownRecipient extends Error {}
