/** What callers of a `Mailer` need. It isn't in `mail.ts`, because that file loads the mail library. */

export interface Email {
  /** An e-mail address as stored. Imports also accept texts that aren't addresses. */
  to: string;
  subject: string;
  text: string;
  /** The same on all tries, so that a receiver can recognise a duplicate. */
  id: string;
}

/** Thrown when the SMTP server refuses the recipient for good. */
export class UnknownRecipient extends Error {}
