// The stream of one list as the body of a response.
import { OpenBody } from '../engine/exchange.ts';
import { EventStream, type FrameSink } from './event-stream.ts';

/** The stream of one list as the body of a response, or as a part of a stream of several lists. */
export class ListStream extends OpenBody {
  /** Begins to send frames. */
  readonly openSink: (sink: FrameSink) => void;

  constructor(openSink: (sink: FrameSink) => void) {
    super((connection) => {
      openSink(new EventStream(connection));
    });
    this.openSink = openSink;
  }
}

export const streamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Reverse proxies that buffer responses, such as nginx, do not buffer this one.
  'X-Accel-Buffering': 'no',
};
