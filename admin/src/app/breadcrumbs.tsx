// The way from the buckets to the current object.
import type { JSX } from 'preact';
import { hashOf, type Place } from '../core/places.ts';
import { useApp } from '../ui/app-context.ts';

export function Breadcrumbs({ place }: { readonly place: Place }): JSX.Element {
  const { service } = useApp();
  return (
    <nav class="crumbs" aria-label="Breadcrumbs">
      <ol>
        <li>
          <a href="#/">Buckets</a>
        </li>
        {place.map(({ id }, index) => (
          <li key={index}>
            <a
              href={hashOf(place.slice(0, index + 1))}
              aria-current={index === place.length - 1 ? 'page' : undefined}
              title={id}
            >
              {index === 0 && (id === service.personalBucket || id === 'default') ? 'Personal bucket' : id}
            </a>
          </li>
        ))}
      </ol>
    </nav>
  );
}
