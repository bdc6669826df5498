"""Attribution graphs: a prediction as exact linear contributions of transcoder features, layer after layer."""
