// The tab of the bucket with the sample data.
import type { JSX } from 'preact';
import { SamplePanel } from './sample-panel.tsx';

export function SampleTab(): JSX.Element {
  return <SamplePanel isLoaded />;
}
