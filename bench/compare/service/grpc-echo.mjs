// A bare @grpc/grpc-js server: it gives the bytes of each message back, at the address of Envoy's call. In a process of its own.
import { Server, ServerCredentials } from '@grpc/grpc-js';

const asItIs = (/** @type {Buffer} */ bytes) => bytes;
const server = new Server();
server.addService(
  {
    shouldRateLimit: {
      path: '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      requestStream: false,
      responseStream: false,
      requestSerialize: asItIs,
      requestDeserialize: asItIs,
      responseSerialize: asItIs,
      responseDeserialize: asItIs,
    },
  },
  {
    shouldRateLimit: (
      /** @type {{ request: Buffer }} */ call,
      /** @type {(error: null, message: Buffer) => void} */ answer,
    ) => answer(null, call.request),
  },
);
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  console.log(port);
});
