// The failure of a request of this area. A refusal names the setting that grants access, and the line that would.
import type { JSX } from 'preact';
import { ServiceFailure } from '../../core/errors.ts';
import { useApp } from '../../ui/app-context.ts';
import { FailureNote } from '../../ui/parts.tsx';

export interface RefusalProps {
  readonly error: unknown;
  /** The setting that lists who may do this. */
  readonly setting?: 'operations_read_principals' | 'operations_write_principals';
  readonly onRetry?: () => void;
}

export function Refusal({ error, setting = 'operations_read_principals', onRetry }: RefusalProps): JSX.Element | null {
  const { service } = useApp();
  if (!isRefusal(error)) return <FailureNote error={error} {...(onRetry === undefined ? {} : { onRetry })} />;
  const deed = setting === 'operations_read_principals' ? 'see the operations of the service' : 'change this';
  return (
    <div class="note bad" role="alert">
      {service.userId === undefined ? (
        <p>
          You are not signed in. The setting <code>{setting}</code> lists who may {deed}.
        </p>
      ) : (
        <>
          <p>
            You are not allowed to {deed}. The setting <code>{setting}</code> lists who is. This line in the
            configuration adds you:
          </p>
          <pre tabIndex={0} aria-label="Line of the configuration">
            {setting} = {service.userId}
          </pre>
        </>
      )}
    </div>
  );
}

/** Returns whether the service refused the request because of who sent it. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ServiceFailure && (error.status === 401 || error.status === 403);
}
