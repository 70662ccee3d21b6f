/** Thrown when reading or changing the servers' shared state fails. A later try may succeed. */
export class StateUnavailable extends Error {
  readonly expected: string;

  constructor(message: string, expected = "one that answers, and has the user, password and database in it") {
    super(message);
    this.expected = expected;
  }
}
