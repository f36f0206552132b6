// The failure of a list below an object that could not be read either: the same refusal is shown once.
import type { JSX } from 'preact';
import { ServiceFailure } from '../core/errors.ts';
import { FailureNote } from './parts.tsx';

export interface ListFailureProps {
  readonly error: unknown;
  /** A failure that is already in view. */
  readonly known: unknown;
  readonly onRetry: () => void;
}

export function ListFailure({ error, known, onRetry }: ListFailureProps): JSX.Element | null {
  if (error instanceof ServiceFailure && known instanceof ServiceFailure && error.errno === known.errno) return null;
  return <FailureNote error={error} onRetry={onRetry} />;
}
