// Error texts: explanations of the error numbers of the service, and of connection failures.
import { elementsOf, membersOf, memberText } from './json-text.ts';

/** Explanations of error numbers for users. The message of the service follows. */
const meanings: ReadonlyMap<number, string> = new Map([
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

/** Messages that say the same as the explanation. */
const repetitions = /^(?:Not allowed for this user\.|This user cannot access this resource\.)$/;

/** A refusal of one attribute: its name, and the reason. */
export interface FieldFault {
  readonly name: string;
  readonly description: string;
}

interface FailureParts {
  readonly status: number;
  readonly errno: number;
  /** The member `details` of the response, as text. */
  readonly details: string;
}

/** An error response of the service, or no response at all. */
export class ServiceFailure extends Error {
  readonly status: number;
  readonly errno: number;
  readonly details: string;

  constructor(message: string, { status, errno, details }: FailureParts) {
    super(message);
    this.name = 'ServiceFailure';
    this.status = status;
    this.errno = errno;
    this.details = details;
  }
}

/** Returns the failure that a response with this status and body reports. */
export function failureOf(status: number, text: string): ServiceFailure {
  const { errno, message, details } = readBody(text);
  const meaning = errno === 121 && status === 507 ? 'A quota would be exceeded.' : meanings.get(errno);
  const rest = meaning !== undefined && repetitions.test(message) ? '' : message;
  const said = meaning ?? `The service responded with status ${status}.`;
  // Details of fields are no sentences of their own.
  const start = /^\p{Ll}/u.test(rest) ? said.replace(/\.$/, ':') : said;
  return new ServiceFailure(rest === '' ? start : `${start} ${rest}`, { status, errno, details });
}

/** Returns the failure of a request without a response. */
export function unreachable(): ServiceFailure {
  const message = 'The service cannot be reached. Check the connection and try again.';
  return new ServiceFailure(message, { status: 0, errno: 0, details: '' });
}

/** Returns any error as a sentence. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the attributes that the service refused, as far as the failure names them. */
export function fieldFaultsOf(error: unknown): readonly FieldFault[] {
  if (!(error instanceof ServiceFailure) || !error.details.startsWith('[')) return [];
  return elementsOf(error.details).flatMap((detail) => {
    if (!detail.startsWith('{')) return [];
    const name: unknown = JSON.parse(memberText(detail, 'name') ?? 'null');
    const description: unknown = JSON.parse(memberText(detail, 'description') ?? 'null');
    if (typeof name !== 'string') return [];
    return [{ name: name.replace(/^data\./, ''), description: typeof description === 'string' ? description : '' }];
  });
}

function readBody(text: string): { readonly errno: number; readonly message: string; readonly details: string } {
  try {
    const body = JSON.parse(text) as { errno?: unknown; message?: unknown } | null;
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
