// Errors of the operating system, which have a code such as `ENOENT`.

/** Codes for a path at which no file can be. */
const absentCodes: readonly string[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'];

/** Returns the code of an error; an empty text for errors of other origin. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Returns whether an error says that there is no file at a path. */
export function isAbsent(error: unknown): boolean {
  return absentCodes.includes(codeOf(error));
}
