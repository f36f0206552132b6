// Error texts: explanations of the error numbers of the service, and of connection failures.
import { membersOf } from './json-text.js';

/** Explanations of error numbers for users. The message of the service follows. */
const meanings = new Map([
  [104, 'You are not signed in, or the sign-in has ended.'],
  [105, 'You are not signed in, or the sign-in has ended.'],
  [106, 'The service could not read the JSON.'],
  [107, 'The service does not accept this.'],
  [109, 'The service does not accept this.'],
  [110, 'This object does not exist, or was deleted.'],
  [111, 'Nothing exists at this address, or its parent does not exist.'],
  [113, 'This is too large.'],
  [114, 'Another user has changed it in the meantime.'],
  [115, 'This cannot be done here; the service may be in read-only mode.'],
  [117, 'Too many attempts. Wait a moment.'],
  [121, 'You are not allowed to do this.'],
  [122, 'Another object has this value already.'],
  [201, 'The service cannot reach its store now. Try again in a moment.'],
]);

/** An error response of the service, or no response at all. */
export class ServiceFailure extends Error {
  /**
   * @param {string} message in words
   * @param {{ readonly status: number, readonly errno: number, readonly details: string }} parts
   */
  constructor(message, { status, errno, details }) {
    super(message);
    this.name = 'ServiceFailure';
    this.status = status;
    this.errno = errno;
    this.details = details;
  }
}

/**
 * Returns the failure that a response reports.
 *
 * @param {number} status
 * @param {string} text its body
 * @returns {ServiceFailure}
 */
export function failureOf(status, text) {
  const { errno, message, details } = readBody(text);
  const meaning = errno === 121 && status === 507 ? 'A quota would be exceeded.' : meanings.get(errno);
  const words = [meaning ?? `The service responded with status ${status}.`, message].filter((part) => part !== '');
  return new ServiceFailure(words.join(' '), { status, errno, details });
}

/** Returns the failure of a request without a response. @returns {ServiceFailure} */
export function unreachable() {
  const message = 'The service cannot be reached. Check the connection and try again.';
  return new ServiceFailure(message, { status: 0, errno: 0, details: '' });
}

/** Returns any error as a sentence. @param {unknown} error @returns {string} */
export function sentenceOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} text @returns {{ errno: number, message: string, details: string }} */
function readBody(text) {
  try {
    const body = /** @type {{ errno?: unknown, message?: unknown } | null} */ (JSON.parse(text));
    return {
      errno: typeof body?.errno === 'number' ? body.errno : 0,
      message: typeof body?.message === 'string' ? body.message : '',
      details: membersOf(text).find(({ key }) => key === 'details')?.text ?? '',
    };
  } catch {
    // A proxy on the way responds with its own pages. Only the status is usable.
    return { errno: 0, message: '', details: '' };
  }
}
