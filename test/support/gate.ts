// A place in the middle of some work where tests hold it.

export class Gate {
  /** Resolves when the work is at the gate. */
  readonly reached: Promise<void>;
  /** Lets the work go on, also what comes later. */
  readonly open: () => void;
  /** Waited for by the work. */
  readonly pass: () => Promise<void>;

  constructor() {
    let open!: () => void;
    let reach!: () => void;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.reached = new Promise((resolve) => {
      reach = resolve;
    });
    this.open = open;
    this.pass = () => {
      reach();
      return opened;
    };
  }
}
