/** An e-mail. The code that sends e-mails is in `mail.ts`, which is loaded only where e-mails are sent. */

export interface Email {
  /** An address that `emailAddress` accepts. */
  to: string;
  subject: string;
  text: string;
  /** An id that is the same on all tries, so that a receiver can recognise a duplicate. */
  id: string;
}

/** Thrown when the SMTP server refuses the recipient for good. */
export class UnknownRecipient extends Error {}
