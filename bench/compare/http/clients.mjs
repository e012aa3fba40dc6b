// Who asks: many clients, each with an address of its own. All of 127.0.0.0/8 is this machine.
export const clients = Array.from({ length: 64 }, (_, i) => `127.0.1.${i + 1}`);
