// The failure of a list. Below an object that could not be read either, the same refusal is shown once; a page that no longer
// exists leads to the first one.
import type { JSX } from 'preact';
import { ServiceFailure } from '../core/errors.ts';
import { FailureNote } from './parts.tsx';

export interface ListFailureProps {
  readonly error: unknown;
  /** A failure that is already in view. */
  readonly known: unknown;
  readonly onRetry: () => void;
  /** Address of the first page; `undefined` on it. */
  readonly firstHref: string | undefined;
}

export function ListFailure({ error, known, onRetry, firstHref }: ListFailureProps): JSX.Element | null {
  if (error instanceof ServiceFailure && known instanceof ServiceFailure && error.errno === known.errno) return null;
  const isPage = firstHref !== undefined && error instanceof ServiceFailure && error.status === 400;
  return (
    <>
      <FailureNote error={error} onRetry={onRetry} />
      {isPage ? (
        <p>
          <a class="button" href={firstHref}>
            Go to the first page
          </a>
        </p>
      ) : null}
    </>
  );
}

/** Returns whether the service refuses the list to the user, so that actions on it would be refused as well. */
export function isRefusedList(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.status === 401 || error.status === 403);
}
