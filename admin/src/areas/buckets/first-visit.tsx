// What a user without data sees first: why nothing is here, and what to begin with.
import type { JSX } from 'preact';
import { hashOf, pageHashOf } from '../../core/places.ts';
import { useApp } from '../../ui/app-context.ts';
import { Button } from '../../ui/parts.tsx';
import { SamplePanel } from './sample/sample-panel.tsx';

export interface FirstVisitProps {
  /** Whether the user sees no bucket at all. */
  readonly isEmpty: boolean;
  /** Whether the user may create buckets. */
  readonly mayCreate: boolean;
}

export function FirstVisit({ isEmpty, mayCreate }: FirstVisitProps): JSX.Element {
  const { service, signOut } = useApp();
  const isBasic = service.userId?.startsWith('basicauth:') === true;
  return (
    <section class="panel" aria-label="First steps">
      <h2>First steps</h2>
      {isBasic && isEmpty ? (
        <p class="hint">
          No data belongs to this user. That is right for a new one. With Basic authentication a known name with a
          mistyped password is a new user too, so if you expected data, check both.{' '}
          <Button class="small" onClick={signOut}>
            Sign in again
          </Button>
        </p>
      ) : null}
      {service.isReadOnly ? (
        <p>The service is read-only at the moment, so nothing can be created.</p>
      ) : !mayCreate ? (
        <p>
          You have no permission to create buckets. Data appears here when other users share it with you: give them your
          user id, behind your name in the bar.
        </p>
      ) : (
        <SamplePanel isLoaded={false}>
          <a class="button" href={hashOf([], { _new: '1' })}>
            Create a bucket
          </a>
          <a class="button" href={pageHashOf('requests')}>
            Send a request
          </a>
        </SamplePanel>
      )}
    </section>
  );
}
