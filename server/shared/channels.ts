/** Ways to deliver an event. An account's field of the same name has the address, or null. */
export const channels = ["webhook", "email"] as const;
export type Channel = (typeof channels)[number];

/** Maximum milliseconds of a try to deliver an event, or to send another e-mail. */
export const maxTryMs = 15_000;

export const addressNames: Record<Channel, string> = { webhook: "webhook", email: "e-mail address" };
