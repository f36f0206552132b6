// A program that tests need and this machine lacks. Tests that meet this error are reported as skipped; see `runner.ts`.

export class MissingProgram extends Error {
  /**
   * @param program its name
   * @param command that installs it
   * @param options with the cause why it could not be fetched
   */
  constructor(program: string, command: string, options?: ErrorOptions) {
    super(`${program} is missing; install it with: ${command}`, options);
    this.name = 'MissingProgram';
  }
}
