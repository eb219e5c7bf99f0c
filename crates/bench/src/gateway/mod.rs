//! The gateway as its clients meet it: started, asked over connections that stay, watched from outside.

pub(crate) mod connection;
pub(crate) mod load;
pub(crate) mod served;
pub(crate) mod wrk;
